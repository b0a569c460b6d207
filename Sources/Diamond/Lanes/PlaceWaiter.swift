/// Who waits for a place on the wire in a task.
protocol PlaceWaiter: Sendable {
    /// How urgent it is now.
    var priority: FlightPriority { get }
    /// It waits under a number from now on, by which it may be given another priority; `nil` when it does no longer.
    func wait(under number: SlotNumber?)
}
