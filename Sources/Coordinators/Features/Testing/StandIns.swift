extension CoordinatorRuntime {
    /// Returns the name by which a coordinator's type is known.
    package static func name(of type: any Coordinator.Type) -> String { TypeNames.name(of: type) }
}

extension CoordinatorContext {
    /// The name of the type for which the parent has started the coordinator, though another may stand for it; `nil` for the root.
    package var definedTypeName: String? { node.parent?.existingChildren?.typeName(of: path.key) }
}
