import Coordinators

// The snippets are as short as their counterparts in other languages.
// swift-format-ignore-file
// snippet: coordinators
enum Counter { struct Next: ResponderMessage { typealias Reply = Int } }

actor CounterCoordinator: Coordinator {
    let context: Context
    private var count = 0
    init(_ context: Context) { self.context = context }
    static let responders: Responders = [.respond(to: Counter.Next.self) { me, _ in me.next() }]
    private func next() -> Int { count += 1; return count }
}

actor CountersCoordinator: Coordinator {
    let context: Context
    init(_ context: Context) { self.context = context }
    static let responders: Responders = [.forward(prefix: "Counter.", to: "counter")]
    func start() async throws { try await context.start(CounterCoordinator.self, as: "counter", in: .worker) }
}
// end

// snippet: ios
protocol CounterDelegate: AnyObject { func counter(_ counter: CounterFlow, didReach count: Int) }

final class CounterFlow {
    weak var delegate: (any CounterDelegate)?
    private var count = 0
    func next() { count += 1; delegate?.counter(self, didReach: count) }
}

final class CountersFlow: CounterDelegate {
    private var children: [CounterFlow] = []
    func start() { let child = CounterFlow(); child.delegate = self; children.append(child); child.next() }
    func counter(_ counter: CounterFlow, didReach count: Int) { print(count) }
}
// end
