((field_definition
  property: (_) @name
  value: [(arrow_function) (function_expression) (generator_function)] @value) @def
  (#set! kind "method"))
((field_definition property: (_) @name value: (class) @value) @def (#set! kind "class"))
