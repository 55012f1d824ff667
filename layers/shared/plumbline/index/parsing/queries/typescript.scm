((abstract_class_declaration) @def (#set! kind "class"))
((interface_declaration) @def (#set! kind "interface"))
((enum_declaration) @def (#set! kind "enum"))
((type_alias_declaration) @def (#set! kind "type alias"))
((internal_module) @def (#set! kind "namespace"))
((module) @def (#set! kind "module"))

; Overloads, declared functions, the methods of interfaces.
((function_signature) @def (#set! kind "function"))
((method_signature) @def (#set! kind "method"))
((abstract_method_signature) @def (#set! kind "method"))

((public_field_definition
  name: (_) @name
  value: [(arrow_function) (function_expression) (generator_function)] @value) @def
  (#set! kind "method"))
((public_field_definition name: (_) @name value: (class) @value) @def (#set! kind "class"))

; import fs = require("fs")
((import_statement (import_require_clause source: (string) @name)) @def (#set! kind "import"))

((construct_signature) @def (#set! kind "constructor"))

; const api = { … } as const
((variable_declarator name: (identifier) @name
  value: [(as_expression (object)) (satisfies_expression (object))]) @def
  (#set! kind "scope"))
