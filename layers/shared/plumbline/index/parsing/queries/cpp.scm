; What C++ has beyond C.
((declaration declarator: [
    (reference_declarator (function_declarator))
    (operator_cast)
    (init_declarator declarator: (function_declarator))
  ] @declarator) @def
  (#set! kind "function declaration"))
((field_declaration declarator: [
    (function_declarator)
    (reference_declarator (function_declarator))
    (operator_cast)
    (pointer_declarator declarator: [
      (function_declarator)
      (pointer_declarator declarator: (function_declarator))])
  ] @declarator) @def
  (#set! kind "method"))

((class_specifier name: (_) body: (_)) @def (#set! kind "class"))
((alias_declaration) @def (#set! kind "type alias"))
((concept_definition) @def (#set! kind "concept"))
((namespace_definition) @def (#set! kind "namespace scope"))

((template_declaration . "template" @lead parameters: (_) @lead (requires_clause)? @lead)
  (#set! kind "lead"))
