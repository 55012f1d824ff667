((class_declaration) @def (#set! kind "class"))
((object_declaration) @def (#set! kind "object"))
((companion_object name: (_)) @def (#set! kind "companion object"))
((type_alias type: (identifier) @name) @def (#set! kind "type alias"))

((function_declaration) @def (#set! kind "function"))
((secondary_constructor) @def (#set! kind "constructor"))
((property_declaration (variable_declaration (identifier) @name)
  [(lambda_literal) (anonymous_function)] @value) @def
  (#set! kind "function"))

((import (qualified_identifier)) @def (#set! kind "import"))
