((class_declaration) @def (#set! kind "class"))
((interface_declaration) @def (#set! kind "interface"))
((trait_declaration) @def (#set! kind "trait"))
((enum_declaration) @def (#set! kind "enum"))

((function_definition) @def (#set! kind "function"))
((method_declaration) @def (#set! kind "method"))
((assignment_expression
  left: (variable_name) @name
  right: [(anonymous_function) (arrow_function)] @value) @def
  (#set! kind "function"))

((namespace_use_declaration) @def (#set! kind "import"))
([(include_expression) (include_once_expression) (require_expression) (require_once_expression)]
  @def (#set! kind "import"))
