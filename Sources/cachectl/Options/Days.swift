#if Tools
import ArgumentParser

/// A number of days including today, from 1 to 400. Statistics are stored for 400 days.
struct Days {
    let count: Int

    init(_ count: Int) { self.count = count }

    init(argument: String) throws {
        guard let count = Int(argument), (1...400).contains(count) else { throw ValidationError("it is from 1 to 400") }
        self.count = count
    }
}
#endif
