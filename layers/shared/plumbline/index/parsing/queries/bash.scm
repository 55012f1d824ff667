((function_definition) @def (#set! kind "function"))
((command name: (command_name (word) @callee) . argument: (_) @name) @def (#set! kind "import"))
