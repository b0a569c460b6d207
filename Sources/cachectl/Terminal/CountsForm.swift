#if Tools
import Diamond

/// The number of jobs in each state, as JSON and as text.
struct CountsForm: Encodable {
    private var counts: [ReplayState: Int]

    init(_ counts: [ReplayState: Int]) { self.counts = counts }

    func encode(to encoder: any Encoder) throws {
        let named = ReplayState.allCases.map { ($0.description, counts[$0] ?? 0) }
        try Dictionary(uniqueKeysWithValues: named).encode(to: encoder)
    }

    /// The states that have jobs: `2 ready, 1 done`.
    var text: String {
        let parts = ReplayState.allCases.compactMap { state in
            counts[state].flatMap { $0 > 0 ? "\($0) \(state)" : nil }
        }
        return parts.isEmpty ? "no jobs" : parts.joined(separator: ", ")
    }
}
#endif
