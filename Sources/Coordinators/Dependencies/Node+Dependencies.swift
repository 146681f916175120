import ConcurrencySupport

extension Node {
    /// What the coordinator has been provided with.
    var dependencies: Dependencies { state.withLock { $0.dependencies.effective } }

    /// Provides this coordinator and those below it.
    func provide(_ more: Dependencies) {
        // One after the other in a process, so that nobody below sees an older value last.
        runtime.dependencyTurn.withLock { _ in
            spread { $0.provide(more) }
        }
    }

    /// Those above have something new.
    func inherit(_ dependencies: Dependencies) {
        runtime.dependencyTurn.withLock { _ in
            spread { $0.inherit(dependencies) }
        }
    }

    /// A child that was made while something was provided must not miss it.
    func renewInheritance(of host: any ChildHost) {
        runtime.dependencyTurn.withLock { _ in host.inherit(dependencies) }
    }

    /// Children first, then what waited here.
    private func spread(_ change: (inout NodeDependencies) -> Void) {
        let (effective, children) = state.withLock { state in
            change(&state.dependencies)
            return (state.dependencies.effective, state.children)
        }
        for host in children?.hosts ?? [] { host.inherit(effective) }
        if !releaseWhatIsProvided().isEmpty { learnWhatIsNeeded() }
    }

    /// Lets go what has waited for what is here now.
    ///
    /// - Returns: what has to be learned first of what others need that waits.
    private func releaseWhatIsProvided() -> [MessageRow.Needs] {
        let (instance, lessons) = state.withLock { state -> ((any Coordinator)?, [MessageRow.Needs]) in
            guard state.mailbox.hasNeeding else { return (nil, []) }
            let effective = state.dependencies.effective
            state.mailbox.release { $0.needs.isProvided(by: effective) && !$0.needs.canLearn(from: effective) }
            return (state.instanceToDrain(), state.mailbox.needs.filter { $0.canLearn(from: effective) })
        }
        if let instance { beginDraining(instance) }
        return lessons
    }

    /// Finds out which keys properties read whose first ones are here, and lets go what has waited for no others.
    ///
    /// In a task of its own: to read a property may be to make a service.
    func learnWhatIsNeeded() {
        runtime.tasks.add { [self] in
            while case let lessons = releaseWhatIsProvided(), !lessons.isEmpty {
                let dependencies = dependencies
                for needs in lessons { needs.learn(from: dependencies) }
            }
        }
    }

    /// For a host in this process, which holds the turn already.
    func inheritInTurn(_ dependencies: Dependencies) { spread { $0.inherit(dependencies) } }
}

extension Context {
    /// What the coordinator has been provided with.
    public var dependencies: Dependencies { node.dependencies }

    /// Provides this coordinator and everything below it, in this process and in others, now and after restarts.
    ///
    /// Those below come first; then what waited here for it begins, in order. What a coordinator further down provides itself stays as it is.
    /// Messages that are sent after this call find the value. A worker gets it if it's Codable.
    public func provide<Value: Sendable>(_ key: any WritableKeyPath<Dependencies, Value?> & Sendable, _ value: Value) async {
        var dependencies = Dependencies()
        dependencies[keyPath: key as WritableKeyPath<Dependencies, Value?>] = value
        node.provide(dependencies)
    }

    /// Provides a service by its description, from which every process makes its own when it's first needed there.
    public func provide<K: DescribedDependencyKey>(_ key: K.Type, describedBy descriptor: K.Descriptor) async {
        var dependencies = Dependencies()
        dependencies.describe(key, by: descriptor)
        node.provide(dependencies)
    }
}
