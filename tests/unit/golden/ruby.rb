require 'json'
require_relative "x/y"
# Doc.
module A::B
  class C < D::E
    include M
    attr_accessor :x
    # Sing.
    def self.make(a, b = 1, *c, d:, **e, &f) end
    class << self
      def inner; end
    end
    def initialize(x) = @x = x
    def q?; end
    def ==(o); end
    define_method(:dyn) { |x| }
    private def priv; end
    Foo = Struct.new(:a) do
      def in_struct; end
    end
    LAM = ->(x) { x }
    alias_method :a, :b
    scope :z, -> { }
  end
end
def top a, b
end
def C.sing; end
