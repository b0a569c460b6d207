/// Who waits for a place on the wire without a task.
protocol PlaceClaimant: AnyObject, Sendable {
    /// There is one, which is now theirs, to be given back by ``Lanes/leave(_:)``.
    func admit(to place: FlightPlace, of lanes: Lanes)
}
