((function_declaration) @def (#set! kind "function"))
((method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @receiver))) @def
  (#set! kind "method"))

; What an interface asks for.
((method_elem) @def (#set! kind "method"))

((type_spec type: (struct_type) @type) @def (#set! kind "struct"))
((type_spec type: (interface_type) @type) @def (#set! kind "interface"))
((type_spec) @def (#set! kind "type"))
((type_alias) @def (#set! kind "type alias"))

; var f = func() {}, f := func() {}
((var_spec name: (identifier) @name value: (expression_list . (func_literal) @value .)) @def
  (#set! kind "function"))
((short_var_declaration
  left: (expression_list . (identifier) @name .)
  right: (expression_list . (func_literal) @value .)) @def
  (#set! kind "function"))

((import_spec path: (_) @name) @def (#set! kind "import"))
