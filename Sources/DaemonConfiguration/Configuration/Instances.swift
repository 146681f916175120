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
                for (name, condition) in child.conditions {
                    for key in keys[name] ?? [] { instance.conditions[key] = condition }
                }
                return instance
            }
        }
    }
}

extension DaemonConfiguration {
    /// Changes the siblings among which a child is that the file lists at a path, without the number of an instance.
    ///
    /// - Parameter body: Gets the siblings, and the child's place among them.
    /// - Returns: False when the file lists no such child, or a group above it has instances, which share what the file says.
    public mutating func withSiblings<Failure: Error>(
        at path: String,
        _ body: (inout [ConfiguredChild], Int) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        try Self.withSiblings(path.split(separator: "/").map(String.init)[...], in: &children, body)
    }

    private static func withSiblings<Failure: Error>(
        _ keys: ArraySlice<String>,
        in children: inout [ConfiguredChild],
        _ body: (inout [ConfiguredChild], Int) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        guard let key = keys.first, let index = children.firstIndex(where: { $0.key == key }) else { return false }
        if keys.count == 1 {
            try body(&children, index)
            return true
        }
        guard children[index].instances == nil, case .group(var group) = children[index].content else { return false }
        let isFound = try withSiblings(keys.dropFirst(), in: &group.children, body)
        children[index].content = .group(group)
        return isFound
    }
}
