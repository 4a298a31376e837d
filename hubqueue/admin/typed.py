"""What destroys is done after its name was typed."""

from django import forms

from hubqueue.admin.verbs import ReasonForm

TYPED = "typed"


def typed(form: type[ReasonForm], expected: str) -> type[ReasonForm]:
    """``form``, valid only when ``expected`` was typed as well, to the letter; spaces around it do not matter."""

    class TypedForm(form):  # type: ignore[misc, valid-type]
        typed = forms.CharField(
            label="Type it to confirm",
            max_length=max(200, len(expected)),
            widget=forms.TextInput(
                attrs={"size": 60, "autocomplete": "off", "spellcheck": "false"}
            ),
            help_text=f"Expected: {expected}",
        )

        def clean_typed(self) -> str:
            said: str = self.cleaned_data[TYPED]
            if said != expected.strip():
                raise forms.ValidationError("That is not it. Nothing was done.")
            return said

    return TypedForm
