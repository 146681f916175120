extension Plan {
    var sizes: [Experiment] {
        [("Answerer", "a small program of coordinators"), ("Measure", "the program that is measured here")].map { name, description in
            experiment(
                "size-\(name)",
                [programs.script("stripped-size", "\(programs.products)/\(name)")],
                [Figure(name: "stripped executable of \(description)", key: "bytes", unit: .mebibytes)],
                rounds: 1
            )
        }
    }
}
