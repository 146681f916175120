import Processes

/// The number of a child among the instances of which it is one.
///
/// Two are equal when their numbers are: that there are more instances than before makes none of them another child.
public struct InstanceNumber: Codable, Hashable, Sendable {
    /// The number, from 1.
    public var number: Int
    /// The number of all instances.
    public var count: Int

    /// Creates a number.
    public init(_ number: Int, of count: Int) { (self.number, self.count) = (number, count) }

    /// Whether the numbers are the same, of however many.
    public static func == (left: InstanceNumber, right: InstanceNumber) -> Bool { left.number == right.number }

    /// Hashes the number.
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }

    /// The variables that the instance's process gets.
    public var variables: [String: String] { [InstanceVariables.number: "\(number)", InstanceVariables.count: "\(count)"] }

    /// Returns a text with the number in place of `{instance}`; `{{instance}}` stands for `{instance}` itself.
    func filling(_ text: String) -> String {
        guard text.namesInstance else { return text }
        return text.split(separator: "{\(String.instanceSign)}", omittingEmptySubsequences: false)
            .map { $0.replacing(String.instanceSign, with: "\(number)") }
            .joined(separator: String.instanceSign)
    }
}

extension String {
    /// The sign for the number of an instance.
    fileprivate static let instanceSign = "{instance}"

    /// Whether the text differs from instance to instance.
    var namesInstance: Bool { contains(Self.instanceSign) }
}

extension ConfiguredChild {
    /// The keys of the child's instances; without ``instances`` its key alone.
    public var instanceKeys: [String] {
        guard let instances else { return [key] }
        return (0..<max(0, instances)).map { "\(key)-\($0 + 1)" }
    }

    /// Returns the child as an instance, with its number in all its texts; the children of a group that have no instances of their own get
    /// the group's number.
    fileprivate func filled(with number: InstanceNumber) -> ConfiguredChild {
        var filled = Keys.child.changingTexts(self, number.filling)
        (filled.key, filled.after, filled.requires) = (key, after, requires)
        filled.instance = number
        if case .program(let program) = filled.content { filled.content = .program(program.withPorts(of: number)) }
        if case .group(var group) = filled.content {
            group.children = group.children.map { $0.instances == nil ? $0.filled(with: number) : $0 }
            filled.content = .group(group)
        }
        return filled
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
            child.instanceKeys.enumerated().map { index, key in
                var instance = child.instances.map { child.filled(with: InstanceNumber(index + 1, of: $0)) } ?? child
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
