public import Coordinators

/// Messages of one namespace: on the wire "Basket.Add" and so on.
public enum Basket {
    /// Adds to the basket; the reply is the number of items in it.
    public struct Add: ResponderMessage {
        public typealias Reply = Int
        public var sku: String
        public init(sku: String) { self.sku = sku }
    }

    public struct Toggle: ResponderMessage {
        public init() {}
    }

    /// A message that no coordinator answers.
    public struct Unknown: ResponderMessage {
        public init() {}
    }
}

/// A namespace that begins as the other does, but is another one.
public enum Basketball {
    public struct Throw: ResponderMessage {
        public typealias Reply = String
        public init() {}
    }
}
