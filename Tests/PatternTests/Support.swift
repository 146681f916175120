import Coordinators
import Logging
import TestSupport
import Testing

extension Where {
    var placement: Placement { isWorker ? .worker : .inProcess }

    /// The number of lives of a child that comes and goes there.
    var rounds: Int { isWorker ? TestSupport.rounds(short: 5, all: 15, long: 150) : TestSupport.rounds(short: 100, all: 300, long: 3_000) }
}

extension CoordinatorRuntime.Options {
    /// The same with so many restarts in a minute, which come at once; with none, the first failure is the end.
    func allowing(restarts: Int) -> Self {
        var options = self
        options.supervision = SupervisionPolicy(.oneForOne, intensity: restarts, period: .seconds(60), backoff: .none)
        return options
    }
}

enum Support {
    /// The built worker.
    static let worker = BuiltProgram("FixtureWorker")

    static var options: CoordinatorRuntime.Options {
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = worker.path
        options.logger.logLevel = .error
        return options
    }

    /// Expects something to fail with a code.
    static func expect<Result>(
        _ code: CoordinatorError.Code,
        sourceLocation: SourceLocation = #_sourceLocation,
        from body: () async throws -> Result
    ) async {
        do {
            _ = try await body()
            Issue.record("it must fail with \(code)", sourceLocation: sourceLocation)
        } catch {
            #expect((error as? CoordinatorError)?.code == code, "\(error)", sourceLocation: sourceLocation)
        }
    }
}
