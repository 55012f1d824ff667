; What JavaScript, TypeScript and TSX have in common.
; @def is the definition, @value the function or class that it names, @name its name.

((function_declaration) @def (#set! kind "function"))
((generator_function_declaration) @def (#set! kind "function"))
((method_definition) @def (#set! kind "method"))
((class_declaration) @def (#set! kind "class"))

; const f = () => …, let C = class …
((variable_declarator
  name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)] @value) @def
  (#set! kind "function"))
((variable_declarator name: (identifier) @name value: (class) @value) @def
  (#set! kind "class"))

; const Card = memo(() => …): what wraps a function and gives it back is known by name.
((variable_declarator
  name: (identifier) @name
  value: (call_expression
    function: [(identifier) (member_expression)] @wrapper
    arguments: (arguments . [(arrow_function) (function_expression)] @value))) @def
  (#set! kind "wrapped function"))

; exports.f = function …, C.prototype.m = () => …
((assignment_expression
  left: [(identifier) (member_expression)] @name
  right: [(arrow_function) (function_expression) (generator_function)] @value) @def
  (#set! kind "function"))
((assignment_expression
  left: [(identifier) (member_expression)] @name
  right: (class) @value) @def
  (#set! kind "class"))

; { f: function …, g() {} } belong to the name that holds the object.
((pair
  key: [(property_identifier) (string)] @name
  value: [(arrow_function) (function_expression) (generator_function)] @value) @def
  (#set! kind "method"))
((variable_declarator name: (identifier) @name value: (object)) @def
  (#set! kind "scope"))
((variable_declarator name: (identifier) @name
  value: (call_expression arguments: (arguments (object)))) @def
  (#set! kind "scope"))
((assignment_expression left: [(identifier) (member_expression)] @name right: (object)) @def
  (#set! kind "scope"))
((pair key: [(property_identifier) (string)] @name value: (object)) @def
  (#set! kind "scope"))

; export default function () {}, class {}, () => …
((export_statement
  value: [(arrow_function) (function_expression) (generator_function)] @value) @def
  (#set! kind "default function"))
((export_statement value: (class) @value) @def
  (#set! kind "default class"))

; A function or class expression with a name of its own.
((function_expression name: (identifier) @name) @def (#set! kind "function"))
((generator_function name: (identifier) @name) @def (#set! kind "function"))
((class name: (_) @name) @def (#set! kind "class"))

((import_statement) @def (#set! kind "import"))
((export_statement source: (string) @name) @def (#set! kind "import"))
((variable_declarator
  value: [
    (call_expression function: (identifier) @callee arguments: (arguments . (string) @name .))
    (member_expression
      object: (call_expression function: (identifier) @callee arguments: (arguments . (string) @name .)))
    (await_expression
      (call_expression function: (import) @callee arguments: (arguments . (string) @name .)))
  ]) @def
  (#set! kind "import"))
((expression_statement
  (call_expression function: (identifier) @callee arguments: (arguments . (string) @name .))) @def
  (#set! kind "import"))

((decorator) @lead (#set! kind "lead"))
