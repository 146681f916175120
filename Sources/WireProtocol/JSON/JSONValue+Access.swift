extension JSONValue {
    /// The value under a name of an object; nil when there is none or this is no object.
    ///
    /// Setting nil removes it; setting a value in anything but an object makes it one.
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

    /// The element of an array; nil when there is none or this is no array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The truth value, if this is one.
    public var boolValue: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The integer, if this is one.
    public var integerValue: Int64? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// The number, if this is one or an integer; an integer beyond 2^53 is rounded.
    public var numberValue: Double? {
        switch self {
        case .number(let value): value
        case .integer(let value): Double(value)
        default: nil
        }
    }

    /// The text, if this is one.
    public var stringValue: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The elements, if this is an array.
    public var arrayValue: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members, if this is an object.
    public var objectValue: [String: JSONValue]? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// Returns this value with another laid over it: objects are merged, member by member and all the way down; everything else is replaced,
    /// arrays and `null` included.
    public func overlaid(by other: JSONValue) -> JSONValue {
        guard case .object(let members) = self, case .object(let others) = other else {
            return other
        }
        return .object(members.merging(others) { $0.overlaid(by: $1) })
    }

    /// The same, for values in which some objects stand for the cases of an enumeration, as Swift encodes them: an object with a single
    /// member isn't merged with one that has another.
    public func overlaid(byCasesOf other: JSONValue) -> JSONValue {
        guard case .object(let members) = self, case .object(let others) = other else {
            return other
        }
        if members.count == 1, others.count == 1, members.keys != others.keys { return other }
        return .object(members.merging(others) { $0.overlaid(byCasesOf: $1) })
    }
}
