extension ConfiguredChild {
    /// The keys of the child's instances; without ``instances`` its key alone.
    public var instanceKeys: [String] {
        guard let instances else { return [key] }
        return (0..<max(0, instances)).map { "\(key)-\($0 + 1)" }
    }
}

extension [ConfiguredChild] {
    /// The children with one for each instance.
    ///
    /// A dependency on a child with several instances becomes one on each of them.
    public var withInstances: [ConfiguredChild] {
        guard contains(where: { $0.instances != nil }) else { return self }
        let keys = Dictionary(map { ($0.key, $0.instanceKeys) }) { first, _ in first }
        func instances(of names: [String]) -> [String] { names.flatMap { keys[$0] ?? [$0] } }
        return flatMap { child in
            child.instanceKeys.map { key in
                var instance = child
                instance.key = key
                instance.instances = nil
                instance.after = instances(of: child.after)
                instance.requires = instances(of: child.requires)
                return instance
            }
        }
    }
}
