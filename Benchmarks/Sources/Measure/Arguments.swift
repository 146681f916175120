/// The arguments of a measurement, each of the form `name=value`.
struct Arguments {
    private var values: [String: String] = [:]

    init(_ words: some Sequence<String>) throws {
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { throw UsageError("'\(word)' isn't of the form name=value") }
            values[String(parts[0])] = String(parts[1])
        }
    }

    mutating func take<Value: LosslessStringConvertible>(_ name: String, default value: Value) throws -> Value {
        guard let text = values.removeValue(forKey: name) else { return value }
        guard let value = Value(text) else { throw UsageError("'\(text)' isn't a value of '\(name)'") }
        return value
    }

    /// Takes integers that are separated by commas.
    mutating func take(_ name: String, default integers: [Int]) throws -> [Int] {
        guard let text = values.removeValue(forKey: name) else { return integers }
        return try text.split(separator: ",").map { part in
            guard let integer = Int(part) else { throw UsageError("'\(part)' isn't an integer") }
            return integer
        }
    }

    /// Throws if an argument hasn't been taken: a misspelt one would measure something else.
    func finish() throws {
        guard values.isEmpty else { throw UsageError("unknown: \(values.keys.sorted().joined(separator: ", "))") }
    }
}

/// The process in which the measured coordinators are: this one, or workers.
enum Place: String, Codable, LosslessStringConvertible {
    case local, worker

    init?(_ description: String) { self.init(rawValue: description) }

    var description: String { rawValue }
}
