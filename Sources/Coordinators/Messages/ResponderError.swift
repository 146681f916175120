/// An error that responders throw and askers catch, whatever process and whatever build each of them is in.
///
///     enum Cart {
///         struct Full: ResponderError { var limit: Int }
///         struct Add: ResponderMessage { typealias Reply = Int; typealias Failure = Full; var sku: String }
///     }
///
/// The asker gets the error as it was thrown if its message declares the type in ``ResponderMessage/Failure``. The type is found by its
/// name, or by one of its former names; the processes in between need not know it.
public protocol ResponderError: WireNamed, Error, Codable {}

/// Several types of errors, for ``ResponderMessage/Failure``: each error is thrown as its own type.
///
///     typealias Failure = OneOf<Cart.Full, Cart.Closed>
public struct OneOf<each Failure: ResponderError>: ResponderError {
    /// Fails: the type only names others.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "\(Self.self) has no values")
        )
    }

    /// Does nothing, since there are no values.
    public func encode(to encoder: any Encoder) throws {}
}

/// A type that stands for several types of errors.
private protocol ErrorTypeList {
    static var types: [any ResponderError.Type] { get }
}

extension OneOf: ErrorTypeList {
    fileprivate static var types: [any ResponderError.Type] {
        var types: [any ResponderError.Type] = []
        for type in repeat (each Failure).self { types += type.errorTypes }
        return types
    }
}

extension ResponderError {
    /// The types of errors that this type stands for: itself, or several.
    fileprivate static var errorTypes: [any ResponderError.Type] { (self as? any ErrorTypeList.Type)?.types ?? [self] }
}

extension ResponderMessage {
    /// The types of the errors that the message declares.
    static var errorTypes: [any ResponderError.Type] { Failure.errorTypes.filter { $0 != RemoteError.self } }
}
