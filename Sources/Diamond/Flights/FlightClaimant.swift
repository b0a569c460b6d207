/// Whose ``FlightClaim`` it is. One for all its runs, and no closures: each that waits has a claim.
protocol FlightClaimant: AnyObject, Sendable {
    /// How urgent it is now.
    var priority: FlightPriority { get }
    /// Whether a run that has sent nothing, or is about to send it all again, may go on to the wire; where not, that run is
    /// given up.
    func begins(_ run: Int) -> Bool
    /// Whether a run may do what cannot be taken back; from then on no pause gives it up.
    func concludes(_ run: Int) -> Bool
    /// Whether what a run has come to may be written down, canceled or not; from then on no pause gives it up.
    func records(_ run: Int) -> Bool
    /// Runs it again, because there is what the run waits for; `false` where it is not to be run.
    func goOn(with run: Int) -> Bool
    /// The run is kept waiting by others than the wire, or no longer.
    func step(aside isAside: Bool, in run: Int)
    func hear(_ event: ExchangeEvent, of run: Int)
    /// What a run has received that a pause has ended, and that no store may keep.
    var box: PartialBox? { get }
    /// The same, made where there is none: few need one.
    func makeBox() -> PartialBox
}
