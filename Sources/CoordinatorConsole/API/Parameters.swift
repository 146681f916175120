/// The parameters in the address of a request.
struct Parameters {
    private let values: [String: String]

    init(_ request: HTTPRequest) {
        values = Dictionary(request.parameters.map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// Returns the path of a coordinator.
    func path() throws(Refusal) -> String {
        guard let path = try optionalPath() else { throw Refusal(.badRequest, "invalidRequest", "the parameter `path` is missing") }
        return path
    }

    /// Returns the path of a coordinator, if there is one.
    func optionalPath() throws(Refusal) -> String? {
        guard let path = values["path"] else { return nil }
        guard path.hasPrefix("/"), path.utf8.count <= 4096 else {
            throw Refusal(.badRequest, "invalidRequest", "`path` doesn't begin with a slash; expected a path such as /shop/cart")
        }
        return path
    }

    /// Returns a number within bounds.
    func number(_ name: String, in bounds: ClosedRange<Int>, default fallback: Int) throws(Refusal) -> Int {
        guard let text = values[name] else { return fallback }
        guard let number = Int(text), bounds.contains(number) else {
            throw Refusal(
                .badRequest,
                "invalidRequest",
                "`\(name)` is out of range; expected a number from \(bounds.lowerBound) to \(bounds.upperBound)"
            )
        }
        return number
    }

    /// Returns a text that isn't empty, if there is one.
    func text(_ name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }
}
