#if Tools
import Diamond
import DiamondInspection
import Foundation

/// The latest events that the programs of a store have recorded.
actor EventFeed {
    private static let limit = 4000

    private var reader: EventFileReader
    private var events: [RecordedEvent] = []

    init(_ store: Store) { reader = EventFileReader(directory: store.directory, includesEarlier: true) }

    /// Whether a program has recorded events.
    var hasFile: Bool { reader.hasFile }

    func latest() -> [RecordedEvent] {
        events = (events + reader.read(last: Self.limit)).suffix(Self.limit)
        return events
    }
}
#endif
