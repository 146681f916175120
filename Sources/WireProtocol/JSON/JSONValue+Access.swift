extension JSONValue {
    /// The value of a member of an object; `nil` when there is no such member or the value is no object.
    ///
    /// Setting `nil` removes the member. Setting a member of a value that is no object replaces that value by an object.
    public subscript(name: String) -> JSONValue? {
        get {
            guard case .object(let members) = self else { return nil }
            return members[name]
        }
        set {
            var members = objectValue ?? [:]
            members[name] = newValue
            self = .object(members)
        }
    }

    /// The element of an array; `nil` when there is no such element or the value is no array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether the value is `null`.
    public var isNull: Bool { self == .null }

    /// The truth value, if the value is one.
    public var boolValue: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The integer, if the value is one.
    public var integerValue: Int64? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// The number, if the value is a number or an integer; an integer beyond 2^53 is rounded.
    public var numberValue: Double? {
        switch self {
        case .number(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }

    /// The text, if the value is one.
    public var stringValue: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The elements, if the value is an array.
    public var arrayValue: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members, if the value is an object.
    public var objectValue: [String: JSONValue]? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// Returns this value merged with another, which takes precedence.
    ///
    /// Objects are merged recursively, member by member; all other values are replaced, arrays and `null` included.
    public func overlaid(by other: JSONValue) -> JSONValue {
        guard case .object(let members) = self, case .object(let others) = other else {
            return other
        }
        return .object(members.merging(others) { $0.overlaid(by: $1) })
    }

    /// Returns this value merged with another, where some objects stand for the cases of an enumeration as Swift encodes them.
    ///
    /// An object with a single member isn't merged with an object whose single member has another name.
    public func overlaid(byCasesOf other: JSONValue) -> JSONValue {
        guard case .object(let members) = self, case .object(let others) = other else {
            return other
        }
        if members.count == 1, others.count == 1, members.keys != others.keys { return other }
        return .object(members.merging(others) { $0.overlaid(byCasesOf: $1) })
    }
}

extension JSONValue {
    /// The bytes that the value has in memory, about: many times those of its text when it's an array of digits.
    package var bytesInMemory: Int {
        let own = MemoryLayout<JSONValue>.stride
        return switch self {
        case .array(let values): values.reduce(own) { $0 + $1.bytesInMemory }
        case .object(let members): members.reduce(own) { $0 + 2 * own + $1.key.utf8.count + $1.value.bytesInMemory }
        case .string(let text): own + text.utf8.count
        default: own
        }
    }
}
