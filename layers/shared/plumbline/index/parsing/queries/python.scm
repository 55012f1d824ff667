((function_definition) @def (#set! kind "function"))
((class_definition) @def (#set! kind "class"))
((assignment left: (identifier) @name right: (lambda) @value) @def (#set! kind "function"))

((import_statement) @def (#set! kind "import"))
((import_from_statement module_name: (_) @name) @def (#set! kind "import"))
((future_import_statement) @def (#set! kind "import"))

((decorator) @lead (#set! kind "lead"))
