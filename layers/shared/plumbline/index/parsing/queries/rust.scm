((function_item) @def (#set! kind "function"))
((function_signature_item) @def (#set! kind "function"))
((macro_definition) @def (#set! kind "macro"))

((struct_item) @def (#set! kind "struct"))
((enum_item) @def (#set! kind "enum"))
((union_item) @def (#set! kind "union"))
((trait_item) @def (#set! kind "trait"))
((type_item) @def (#set! kind "type alias"))
((associated_type) @def (#set! kind "associated type"))
((mod_item body: (_)) @def (#set! kind "module"))

; impl S: its functions are S's. impl T for S: also a fact to find.
((impl_item !trait type: (_) @name) @def (#set! kind "scope"))
((impl_item trait: (_) @trait type: (_) @name) @def (#set! kind "trait impl"))

((use_declaration argument: (_) @name) @def (#set! kind "import"))
((extern_crate_declaration) @def (#set! kind "import"))
((mod_item !body) @def (#set! kind "import"))

((attribute_item) @lead (#set! kind "lead"))
