public import Coordinators
import FoundationEssentials

/// The results of a program that has asked coordinators of another build, and was asked by them.
public struct Trial: Codable, Sendable {
    /// The results of each way to ask, by its name.
    public var results: [String: [String: String]] = [:]
    /// The names of the messages from below, as their senders know them.
    public var seen: [String] = []

    public init() {}

    public var json: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }

    public init(json: String) throws { self = try JSONDecoder().decode(Trial.self, from: Data(json.utf8)) }
}

extension Trial {
    /// The `main` of a build: as a worker it hosts a coordinator; else it runs a tree whose workers run the program that the argument
    /// names, and prints what came of it.
    ///
    /// - Parameters:
    ///   - askAll: Asks every message that the build knows.
    public static func main<Parent: Coordinator, Cart: Coordinator>(
        _ parent: Parent.Type,
        _ cart: Cart.Type,
        others: [any Coordinator.Type],
        askAll: (any Asker) async -> [String: String]
    ) async throws where Parent.Configuration: CoordinatorConfiguration {
        await CoordinatorRuntime.runWorkerIfRequested(coordinators: [parent, cart] + others)
        var options = CoordinatorRuntime.Options()
        options.workerExecutable = CommandLine.arguments[1]
        let runtime = CoordinatorRuntime(parent, options: options)
        try await runtime.start()
        var trial = Trial()
        trial.results["up"] = try await runtime.ask(AskAll(), at: "/client", timeout: .seconds(60))
        trial.seen = try await runtime.ask(SeenNames())
        trial.results["path"] = await askAll(Target("/cart", in: runtime))
        trial.results["handle"] = try await askAll(Held(runtime.coordinator(cart, at: "/cart")))
        trial.results["child"] = try await runtime.ask(AskChild())
        trial.results["private"] = ["start": try await runtime.ask(StartSecretive(), timeout: .seconds(60))]
        await runtime.stop()
        print(try trial.json)
    }
}
