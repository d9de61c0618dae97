import pickle

from excalibr._messages import CommandWords, Message, Option, Wording, message_of
from excalibr.errors import InputError, explain

WORDS = CommandWords({"k": "-k", "user_id": "--user-id", "complete": "--complete/--sample", "category": "--category"})


def test_python_is_told_keywords_and_the_command_flags() -> None:
    message = Message("pass ", Option("user_id", "userId"), " or ", Option("k", 10), ".")
    assert str(message) == "pass user_id='userId' or k=10."
    assert message.render(WORDS) == "pass --user-id userId or -k 10."


def test_values_are_written_as_a_shell_takes_them() -> None:
    assert WORDS.render(Option("user_id", "user name")) == "--user-id 'user name'"
    assert WORDS.render(Option("user_id", "|")) == "--user-id '|'"
    assert WORDS.render(Option("category", ["genre", "decade"])) == "--category genre,decade"


def test_a_value_of_ones_own_is_three_dots() -> None:
    assert (str(Option("k", ...)), WORDS.render(Option("k", ...))) == ("k=…", "-k …")


def test_an_option_of_yes_or_no_is_its_flag() -> None:
    assert str(Option("complete", False)) == "complete=False"
    assert WORDS.render(Option("complete", False)) == "--sample"
    assert WORDS.render(Option("complete", True)) == "--complete"


def test_what_the_command_does_not_have_stays_as_it_is() -> None:
    assert WORDS.render(Option("max_nodes", 5)) == "max_nodes=5"


def test_a_wording_is_one_thing_in_python_and_another_in_the_command() -> None:
    message = Message("be at least 1", Wording(", or None", ""))
    assert (str(message), message.render(WORDS)) == ("be at least 1, or None", "be at least 1")


def test_an_error_keeps_the_parts_of_its_message_wherever_it_goes() -> None:
    error = InputError(explain("k", "is 0", "be at least 1", Message("pass ", Option("k", 10), ".")))
    for each in (error, pickle.loads(pickle.dumps(error)), str(error)):
        assert message_of(each) == "k: is 0, must be at least 1. Hint: pass k=10."
        assert message_of(each, WORDS) == "-k: is 0, must be at least 1. Hint: pass -k 10."


def test_a_plain_text_is_told_as_it_is() -> None:
    assert message_of("as it is", WORDS) == message_of(ValueError("as it is"), WORDS) == "as it is"
