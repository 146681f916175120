import Coordinators
import Fixtures

// As a worker: hosts a coordinator. Else: runs a tree whose workers run the program that the argument names, and prints what came of it.
await CoordinatorRuntime.runWorkerIfRequested(
    coordinators: [CartCoordinator.self, ClientCoordinator.self, ParentCoordinator.self, secretive]
)
var options = CoordinatorRuntime.Options()
options.workerExecutable = CommandLine.arguments[1]
let runtime = CoordinatorRuntime(ParentCoordinator.self, options: options)
try await runtime.start()
var trial = Trial()
trial.results["up"] = try await runtime.ask(AskAll(), at: "/client", timeout: .seconds(60))
trial.seen = try await runtime.ask(SeenNames())
trial.results["path"] = await Target("/cart", in: runtime).askAll()
trial.results["handle"] = try await Held(runtime.coordinator(CartCoordinator.self, at: "/cart")).askAll()
trial.results["child"] = try await runtime.ask(AskChild())
trial.results["private"] = ["start": try await runtime.ask(StartSecretive(), timeout: .seconds(60))]
await runtime.stop()
print(try trial.json)
