/// What one coordinator inherits, provides itself, and so passes on.
struct NodeDependencies {
    private(set) var effective: Dependencies
    private var inherited: Dependencies
    private var provided = Dependencies()
    private let overrides: Dependencies

    /// - Parameter overrides: what wins over everything that is provided, in tests.
    init(inherited: Dependencies, overrides: Dependencies) {
        self.inherited = inherited
        self.overrides = overrides
        effective = inherited.overlaid(by: overrides)
    }

    mutating func provide(_ more: Dependencies) {
        provided = provided.overlaid(by: more)
        update()
    }

    mutating func inherit(_ dependencies: Dependencies) {
        inherited = dependencies
        update()
    }

    private mutating func update() {
        effective = inherited.overlaid(by: provided).overlaid(by: overrides)
    }
}
