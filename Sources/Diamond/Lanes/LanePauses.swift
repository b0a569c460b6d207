/// The lanes in which no exchange begins.
struct LanePauses: Hashable {
    var lanes: Set<Lane> = []
    /// Whether no exchange begins in any lane.
    var isWhole = false

    var isEmpty: Bool { !isWhole && lanes.isEmpty }

    func contains(_ lane: Lane) -> Bool { isWhole || !lanes.isEmpty && lanes.contains(lane) }

    func union(_ other: LanePauses) -> LanePauses {
        LanePauses(lanes: lanes.union(other.lanes), isWhole: isWhole || other.isWhole)
    }
}
