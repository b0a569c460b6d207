#if Tools
import ArgumentParser

/// How many at most: from 1 on.
struct Limit {
    let count: Int
    /// One more than is shown tells whether there is one.
    var oneMore: Int { count < .max ? count + 1 : count }

    init(_ count: Int) { self.count = count }

    init(argument: String) throws {
        guard let count = Int(argument), count > 0 else { throw ValidationError("it is from 1 on") }
        self.count = count
    }
}

/// How many days back, today included: from 1 to 400, as many as statistics are kept.
struct Days {
    let count: Int

    init(_ count: Int) { self.count = count }

    init(argument: String) throws {
        guard let count = Int(argument), (1...400).contains(count) else { throw ValidationError("it is from 1 to 400") }
        self.count = count
    }
}
#endif
