import Foundation

extension RequestPriority {
    /// Creates the priority of an operation. A value between two named ones counts as the lower one.
    init(_ priority: Operation.QueuePriority) {
        self =
            switch priority.rawValue {
            case ..<Operation.QueuePriority.low.rawValue: .veryLow
            case ..<Operation.QueuePriority.normal.rawValue: .low
            case ..<Operation.QueuePriority.high.rawValue: .normal
            case ..<Operation.QueuePriority.veryHigh.rawValue: .high
            default: .veryHigh
            }
    }
}
