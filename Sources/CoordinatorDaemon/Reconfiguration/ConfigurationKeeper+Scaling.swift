import ConcurrencySupport
import Control
import Coordinators
import DaemonConfiguration

extension ConfigurationKeeper {
    /// Sets the number of a child's instances in the running configuration, and starts or stops those by which the numbers differ.
    ///
    /// - Parameter path: The child's path without a number.
    /// - Throws: `noSuchPath`; `invalidRequest` for a child without `instances`, or when another child has the key of an instance.
    func scale(_ path: CoordinatorPath, to instances: Int) async throws(ControlError) -> ScaleResult {
        let former = Lock(0)
        let changes = try await change { configuration throws(ControlError) in
            let isFound = try configuration.withSiblings(at: path.description) { siblings, index throws(ControlError) in
                guard let present = siblings[index].instances else {
                    throw ControlError(.invalidRequest, "\(path) has no `instances` in the configuration: add the key there and apply it")
                }
                former.withLock { $0 = present }
                siblings[index].instances = instances
                try Self.check(siblings, index, path)
                if let problem = siblings[index].portProblem(of: instances) {
                    throw ControlError(.invalidRequest, "\(path) can't have that many instances: a port of it is \(problem)")
                }
            }
            guard isFound else { throw Self.notFound(path, in: configuration) }
        }
        return ScaleResult(
            path: path.description,
            instances: instances,
            formerInstances: former.withLock { $0 },
            changes: changes.changes
        )
    }

    /// Checks that no sibling has the key of an instance.
    private static func check(_ siblings: [ConfiguredChild], _ index: Int, _ path: CoordinatorPath) throws(ControlError) {
        let taken = Set(siblings.indices.filter { $0 != index }.flatMap { [siblings[$0].key] + siblings[$0].instanceKeys })
        guard let key = siblings[index].instanceKeys.first(where: taken.contains) else { return }
        throw ControlError(.invalidRequest, "\(path) can't have that many instances: another child has the key \(key)")
    }

    private static func notFound(_ path: CoordinatorPath, in configuration: DaemonConfiguration) -> ControlError {
        let message = "the configuration has no \(path) whose instances could be counted"
        let digits = path.key.reversed().prefix(while: \.isNumber).count
        let base = path.key.dropLast(digits)
        guard digits > 0, base.hasSuffix("-") else { return ControlError(.noSuchPath, message) }
        return ControlError(.noSuchPath, "\(message); name it without the number of an instance, as /…/\(base.dropLast())")
    }
}
