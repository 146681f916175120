public import Coordinators

/// Messages of one namespace: on the wire "Basket.Add" and so on.
public enum Basket {
    /// Answered with how much is in the basket.
    public struct Add: ResponderMessage {
        public typealias Reply = Int
        public var sku: String
        public init(sku: String) { self.sku = sku }
    }

    public struct Toggle: ResponderMessage {
        public init() {}
    }

    /// Nobody answers it.
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
