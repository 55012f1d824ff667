; class_declaration stands for classes, structs, enums, actors and extensions.
((class_declaration) @def (#set! kind "class"))
((protocol_declaration) @def (#set! kind "protocol"))
((typealias_declaration) @def (#set! kind "type alias"))

((function_declaration) @def (#set! kind "function"))
((protocol_function_declaration) @def (#set! kind "method"))
((init_declaration) @def (#set! kind "constructor"))
((deinit_declaration) @def (#set! kind "destructor"))
((subscript_declaration) @def (#set! kind "subscript"))
((property_declaration
  name: (pattern bound_identifier: (simple_identifier) @name)
  value: (lambda_literal) @value) @def
  (#set! kind "function"))

((import_declaration (identifier) @name) @def (#set! kind "import"))
