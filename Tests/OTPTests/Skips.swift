import ConcurrencySupport
import Testing

/// Says on which backends a case isn't run, and why.
struct Skips: TestTrait {
    struct Row: Sendable, Hashable {
        var test: String
        var backend: Backend
        var reason: String
    }

    private static let noted = Lock<Set<Row>>([])

    let backends: [Backend]
    let reason: String

    /// The cases that the tests of this run skip, by the tests' names; all are prepared before the first one runs.
    static var rows: [Row] {
        noted.withLock { $0 }.sorted { ($0.test, $0.backend.rawValue) < ($1.test, $1.backend.rawValue) }
    }

    func prepare(for test: Test) async throws {
        let name = test.displayName ?? test.name
        Self.noted.withLock { noted in
            for backend in backends { noted.insert(Row(test: name, backend: backend, reason: reason)) }
        }
    }

    /// Ends the test here if it says that it isn't for this backend.
    ///
    /// - Returns: whether it is for it.
    static func fits(_ backend: Backend) throws -> Bool {
        let skips = Test.current?.traits.compactMap { $0 as? Skips } ?? []
        guard let skip = skips.first(where: { $0.backends.contains(backend) }) else { return true }
        #if compiler(>=6.3)
        try Test.cancel("\(skip.reason)")
        #else
        _ = skip
        return false
        #endif
    }
}

extension Trait where Self == Skips {
    static func skips(_ backends: Backend..., because reason: String) -> Self { Skips(backends: backends, reason: reason) }
}
