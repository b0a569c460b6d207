extension Lanes: JobLanes {
    package var unpaused: ReplayTable.Lanes {
        let pauses = pauses
        guard !pauses.isEmpty else { return .all }
        return pauses.isWhole ? .none : .allBut(pauses.lanes)
    }
}
