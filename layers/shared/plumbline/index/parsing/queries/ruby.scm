((module) @def (#set! kind "module"))
((class) @def (#set! kind "class"))
((method) @def (#set! kind "function"))
((singleton_method object: (_) @receiver) @def (#set! kind "method"))

; Point = Struct.new(:x) do … end, handler = ->(x) { … }
((assignment left: (constant) @name
  right: (call receiver: (constant) @receiver method: (identifier) @callee)) @def
  (#set! kind "class"))
((assignment left: [(constant) (identifier)] @name right: (lambda) @value) @def
  (#set! kind "function"))
((call method: (identifier) @callee
  arguments: (argument_list . [(simple_symbol) (string)] @name)
  block: (_)) @def
  (#set! kind "define_method"))

((call !receiver method: (identifier) @callee arguments: (argument_list . (string) @name .)) @def
  (#set! kind "import"))
