/// A day of the Gregorian calendar, which is also used for years before 1582 (ISO 8601).
struct CivilDay {
    let year: Int64
    let month: Int64
    let day: Int64

    /// Creates a day; `nil` if the month does not have it.
    init?(year: Int64, month: Int64, day: Int64) {
        guard (1...12).contains(month), (1...Self.length(of: month, in: year)).contains(day) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates the day that is a number of days after 1 January 1970.
    init(daysSince1970 days: Int64) {
        // The years begin in March, so that a leap day is the last of its year. 400 years have 146,097 days.
        let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(flooredBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthSinceMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthSinceMarch + 2) / 5 + 1
        month = monthSinceMarch < 10 ? monthSinceMarch + 3 : monthSinceMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    /// The days since 1 January 1970.
    var daysSince1970: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).quotientAndRemainder(flooredBy: 400)
        let monthSinceMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthSinceMarch + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func length(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
