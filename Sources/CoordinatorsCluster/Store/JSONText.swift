import FoundationEssentials

/// The JSON of the store's values: sorted, so that equal values are equal texts, and readable with the store's own tools.
enum JSONText {
    static func bytes(of form: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return [UInt8](try encoder.encode(form))
        } catch {
            // Texts, whole numbers and Booleans alone, which all have a form in JSON.
            preconditionFailure("a record of the store has no JSON: \(error)")
        }
    }
}
