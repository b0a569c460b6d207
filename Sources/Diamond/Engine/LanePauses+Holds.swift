extension LanePauses {
    /// Makes the pauses that the holds of a store mean.
    init(_ holds: Set<ReplayHold>) {
        for hold in holds {
            switch hold {
            case .engine: isWhole = true
            case .lane(let lane): lanes.insert(lane)
            case .queue, .key, .identity: break
            }
        }
    }
}
