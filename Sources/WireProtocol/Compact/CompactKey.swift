/// The key of an element in an error's coding path, and of a super encoder that was asked for without one.
struct CompactKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        self.intValue = nil
    }

    init(intValue: Int) {
        self.stringValue = "\(intValue)"
        self.intValue = intValue
    }

    static let `super` = CompactKey(stringValue: "super")
}

extension Error {
    /// Returns the error with a key inserted at the front of its coding path; an error without a path is returned unchanged.
    func inside(_ key: some CodingKey) -> any Error {
        switch self as any Error {
        case EncodingError.invalidValue(let value, let context):
            EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [key] + context.codingPath,
                    debugDescription: context.debugDescription,
                    underlyingError: context.underlyingError
                )
            )
        case DecodingError.typeMismatch(let type, let context):
            DecodingError.typeMismatch(type, context.inside(key))
        case DecodingError.valueNotFound(let type, let context):
            DecodingError.valueNotFound(type, context.inside(key))
        case DecodingError.keyNotFound(let missing, let context):
            DecodingError.keyNotFound(missing, context.inside(key))
        case DecodingError.dataCorrupted(let context):
            DecodingError.dataCorrupted(context.inside(key))
        default:
            self
        }
    }
}

extension DecodingError.Context {
    fileprivate func inside(_ key: some CodingKey) -> Self {
        Self(codingPath: [key] + codingPath, debugDescription: debugDescription, underlyingError: underlyingError)
    }
}
