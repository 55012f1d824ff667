; Declarators nest (pointers, parentheses, parameters): declarators.py finds the name in them.
((function_definition declarator: (_) @declarator) @def (#set! kind "function"))
((declaration
  declarator: [
    (function_declarator)
    (pointer_declarator declarator: [
      (function_declarator)
      (pointer_declarator declarator: (function_declarator))])
  ] @declarator) @def
  (#set! kind "function declaration"))
((preproc_function_def) @def (#set! kind "macro"))

((struct_specifier name: (_) body: (_)) @def (#set! kind "struct"))
((union_specifier name: (_) body: (_)) @def (#set! kind "union"))
((enum_specifier name: (_) body: (_)) @def (#set! kind "enum"))
((type_definition declarator: (_) @declarator) @def (#set! kind "typedef"))

((preproc_include path: (_) @name) @def (#set! kind "import"))
