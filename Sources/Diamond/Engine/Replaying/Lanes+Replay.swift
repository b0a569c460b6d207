extension LanePauses {
    /// Creates the lane pauses for the holds of a store.
    init(_ holds: Set<ReplayHold>) {
        for hold in holds {
            switch hold {
            case .engine: includesAllLanes = true
            case .lane(let lane): lanes.insert(lane)
            case .queue, .key, .identity: break
            }
        }
    }
}

extension Lanes: JobLanes {
    package var unpaused: ReplaySelection.Lanes {
        let pauses = pauses
        guard !pauses.isEmpty else { return .all }
        return pauses.includesAllLanes ? .none : .allBut(pauses.lanes)
    }
}
