((class_definition) @def (#set! kind "class"))
((object_definition) @def (#set! kind "object"))
((package_object) @def (#set! kind "package object"))
((trait_definition) @def (#set! kind "trait"))
((enum_definition) @def (#set! kind "enum"))
((type_definition) @def (#set! kind "type alias"))
((given_definition) @def (#set! kind "given"))

((function_definition) @def (#set! kind "function"))
((function_declaration) @def (#set! kind "function"))
((val_definition pattern: (identifier) @name value: (lambda_expression) @value) @def
  (#set! kind "function"))

; What an extension adds belongs to the type that it extends.
((extension_definition
  parameters: (parameters . (parameter type: (_) @name))) @def
  (#set! kind "scope"))

((import_declaration) @def (#set! kind "import"))
