((class_declaration) @def (#set! kind "class"))
((record_declaration) @def (#set! kind "record"))
((enum_declaration) @def (#set! kind "enum"))
((interface_declaration) @def (#set! kind "interface"))
((annotation_type_declaration) @def (#set! kind "annotation"))
((module_declaration) @def (#set! kind "module"))
((enum_constant body: (_)) @def (#set! kind "scope"))

((method_declaration) @def (#set! kind "method"))
((annotation_type_element_declaration) @def (#set! kind "method"))
((constructor_declaration) @def (#set! kind "constructor"))
((compact_constructor_declaration) @def (#set! kind "constructor"))

((import_declaration) @def (#set! kind "import"))
